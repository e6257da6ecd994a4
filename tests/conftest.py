"""What all tests share: hypothesis times nothing, and tries the same examples in every run."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("steady")
