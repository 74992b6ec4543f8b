"""How Sphinx builds the site. `scripts/docs` calls it, on the pages of docs/ and those that are made.

Everything a page needs lies beside it: no font, script or picture comes from elsewhere.
"""

import napari_celis

project = "napari-celis"
author = "The napari-celis developers"
copyright = author  # noqa: A001, Sphinx reads this name
release = version = napari_celis.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
myst_enable_extensions = ["deflist"]
# Deep enough for every heading that a page links to, and named as GitHub names them.
myst_heading_anchors = 4

# Single backticks in docstrings are code.
default_role = "code"
autodoc_typehints = "none"  # docstrings say it in words
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
napoleon_use_param = napoleon_use_rtype = False  # types are words, not links
add_module_names = False
python_maximum_signature_line_length = 90

html_theme = "furo"
html_title = f"napari-celis {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = html_favicon = "images/icon.svg"
html_copy_source = html_show_sourcelink = html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = "$ "
pygments_style = "friendly"
pygments_dark_style = "monokai"


def setup(app):
    app.connect("autodoc-process-docstring", _keep_sentences, priority=900)


def _keep_sentences(app, what, name, obj, options, lines):
    """Put together what napoleon takes apart: it reads `The voxels: an array.` as a type and its text."""
    types = [index for index, line in enumerate(lines) if line.startswith(":type: ")]
    if what in ("attribute", "property") and types:
        lines[0] = f"{lines[types[0]].removeprefix(':type: ')}: {lines[0]}"
        del lines[types[0] :]
