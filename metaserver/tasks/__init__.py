"""Tasks that a challenge can run: one module each, found by the entry point `metaserver.tasks`.

They check and score answers; boards are in leaderboards. It may import wire, uniprot, model,
files and scoring (the evaluator).
"""
