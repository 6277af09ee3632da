"""The ways to start a hub for a test.

- `command`: a `metaserver` command as a process of its own, run to its end or started.
- `inside`: a service in the test's own event loop: `at_work`, with `plan_phase` for a phase.
- `sites`: the pages and interfaces of a service inside: `site`, `client`, and `visiting` browsers.
- `thread`: a service with its site in a thread of its own, for tests without an event loop.
- `process`: `metaserver serve` as a process of its own, asked over its JSON API: `hub_at`.
- `stored`: what a hub's store holds, of either kind.
- `release`: the UniProt release that all of them use.
"""
