from short_runs import short_network_times

__all__ = ["short_network_times"]  # a fixture
