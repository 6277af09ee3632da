"""Tasks that a challenge can run: one module each, found by the entry points `metaserver.tasks`
and `metaserver.offline_tasks`.

They check and score answers; boards are in leaderboards. It may import wire, corpus (zips that are
uploaded), uniprot, model and scoring (the evaluator).
"""
