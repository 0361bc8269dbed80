import pytest


@pytest.fixture(autouse=True)
def forgotten():
    """What was compiled before does not count towards torch's limit of recompilations."""
    import torch

    torch.manual_seed(0)
    yield
    torch.compiler.reset()
