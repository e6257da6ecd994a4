"""What a program has, found without being told: its variables, calls, models, and other engines."""
