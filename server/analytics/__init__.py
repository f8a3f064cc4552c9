"""The analytics store that the settings name: who asks it, how it is filled, what keeps it up."""
