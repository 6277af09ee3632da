"""Sample articles and their gold, written for the demo; read by importlib.resources."""
