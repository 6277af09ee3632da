"""What the pages, the API and the command line ask: scoreboard, monitor, events."""
