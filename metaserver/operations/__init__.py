"""What can be asked of a running hub, said once for every interface."""
