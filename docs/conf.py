"""How the documentation site is built: ``sphinx-build -W docs docs/_build/site``."""

project = "Schedule Workbench"
author = "The Schedule Workbench authors"
language = "en"

extensions = ["myst_parser"]
myst_enable_extensions = ["deflist", "attrs_inline"]
myst_heading_anchors = 4
exclude_patterns = ["_build", "design", "notes"]  # both for those who work on the package

html_theme = "furo"
html_title = "Schedule Workbench"
html_static_path = ["_static"]
html_css_files = ["drawing.css", "site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_permalinks_icon = "#"
# Systems' own fonts, and nothing from another host: the site is read without a network.
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
add_module_names = False
toc_object_entries_show_parents = "hide"
modindex_common_prefix = ["workbench."]
highlight_language = "python"
