"""Money and requests: caps of a run, reservations before things are paid, what was spent."""
