"""Values that packages pass to each other: records, states, plans, lanes, phases, servers, errors.

They are frozen and do no work of their own. It may import nothing of the hub.
"""
