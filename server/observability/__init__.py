"""What a server tells of itself: metrics, traces and an access log. Off, it costs nothing."""
