"""Boards as pages and as REST: the only importer of the web framework, in a process that cannot open the labels.

    app        which address is answered by what
    guard      what stands before every answer: headers, limits of bodies, who asks, forged forms, guessed tokens
    pages      what browsers are shown; forms are answered in `forms`
    api        what programs are told; `openapi` describes it
    uploads    how a file arrives
    running    the processes of `pippin serve`
    demo       a board on the standard library, with every ranker submitted

Pages work without JavaScript; it adds a filter, light and dark, and news without loading again.
"""
