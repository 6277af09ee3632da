"""Access: callers, the bodies they may send and their limits, before any handler is called."""
