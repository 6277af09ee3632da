"""The hub's side of a call: one article to one server over HTTP, timed, bounded and checked."""
