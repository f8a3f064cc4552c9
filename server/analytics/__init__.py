"""Opens the analytics store that the settings name, and fills it."""
