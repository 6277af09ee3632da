"""Who asks, what they may send, and how much: before any handler is called."""
