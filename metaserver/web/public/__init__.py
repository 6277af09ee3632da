"""Pages for everybody: home, phases, monitor, leaderboards, articles, servers, health."""
