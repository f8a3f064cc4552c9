"""What aspects add to the lists of the core's tests."""

SETTINGS = {"aspects": ("fit=Fit;de=Passform,quality", "fit=Fit;de=Passform,quality")}
"""Settings with the text of the environment variable and the value."""
