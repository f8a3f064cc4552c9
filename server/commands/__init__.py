"""The commands of ``marginalia``, one a module."""
