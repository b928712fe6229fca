"""What the installation holds: tables, migrations and one module of queries for each noun."""
