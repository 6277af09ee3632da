"""Client of annotation servers: calls over HTTP that are timed, bounded and checked."""
