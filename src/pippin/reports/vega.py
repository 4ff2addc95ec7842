"""Vega, Vega-Lite and vega-embed as one script, for interactive figures that work offline.

The build writes the script into the package (CMakeLists.txt runs this module), so that an installed Pippin needs no
other package. A source tree without it takes the same script from vl-convert.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

FILE = "vega.js"
_OWNERS = "University of Washington Interactive Data Lab and contributors, BSD-3-Clause, https://github.com/vega"


@cache
def drawing_library() -> str:
    """Return the script; its only global name is vegaEmbed."""
    file = Path(__file__).with_name(FILE)
    return file.read_text(encoding="utf-8") if file.is_file() else bundle()


def bundle() -> str:
    """Make the script with vl-convert."""
    try:
        import vl_convert
    except ImportError:
        from pippin.errors import MissingDependency

        raise MissingDependency("vl-convert-python", "a page from a source tree", "pippin[report]") from None
    about = (f"Vega {vl_convert.get_vega_version()}, Vega-Lite {vl_convert.get_vegalite_versions()[-1]}, "
             f"vega-embed {vl_convert.get_vega_embed_version()}: {_OWNERS}")  # fmt: skip
    script = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")).replace("</script", "<\\/script")
    return f"/* {about} */\n(() => {{{script}}})();"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(bundle(), encoding="utf-8")
