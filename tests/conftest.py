"""Settings of all tests."""

from hypothesis import settings

# No test asserts on time: on a busy machine an example may take as long as it likes.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
