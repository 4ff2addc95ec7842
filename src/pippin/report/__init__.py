"""Tables, figures and pages: data first, drawing after.

`pippin.report(result, output)` writes them; `help(pippin.report.make.report)` explains every argument.
"""

from pippin.shelf import make_verb

make_verb(__name__, "pippin.report.make", "report")
