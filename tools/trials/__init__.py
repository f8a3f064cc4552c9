"""Trials: commands that run longer than tests, and print what they find."""
