"""The engine: the workflows of runs and rounds, their phases, the workers that carry them."""
