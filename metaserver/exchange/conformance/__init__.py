"""The conformance run, which a server must pass before its first article counts (docs/teams.md).

`procedure` tests the server step by step, `trial` sends one article of a team's own choice.
"""
