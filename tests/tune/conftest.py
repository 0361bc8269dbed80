from short_runs import short_network_times
from tune.made_templates import declare, space_of

__all__ = ["declare", "short_network_times", "space_of"]  # fixtures
