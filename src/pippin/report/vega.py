"""The library that draws the figures of a page: Vega, Vega-Lite and vega-embed as one script.

An installed Pippin has it as a file, made when the package was built (CMakeLists.txt runs this module as a script), so
that a page needs no other package. A source tree that was never installed takes the same text from vl-convert.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

FILE = "vega.js"
_OWNERS = "University of Washington Interactive Data Lab and contributors, BSD-3-Clause, https://github.com/vega"


@cache
def drawing_library() -> str:
    """The script, which adds no other name than vegaEmbed."""
    file = Path(__file__).with_name(FILE)
    return file.read_text(encoding="utf-8") if file.is_file() else bundle()


def bundle() -> str:
    """The script made anew."""
    try:
        import vl_convert
    except ImportError:
        from pippin.errors import MissingExtra

        raise MissingExtra("vl-convert-python", "a page from a source tree", "pippin[report]") from None
    about = (f"Vega {vl_convert.get_vega_version()}, Vega-Lite {vl_convert.get_vegalite_versions()[-1]}, "
             f"vega-embed {vl_convert.get_vega_embed_version()}: {_OWNERS}")  # fmt: skip
    script = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")).replace("</script", "<\\/script")
    return f"/* {about} */\n(() => {{{script}}})();"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(bundle(), encoding="utf-8")
