"""What a team uses: a server kit, a self-test and ready baselines. Needs no hub, no evaluator."""
