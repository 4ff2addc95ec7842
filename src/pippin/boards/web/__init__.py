"""Pages and REST interface of boards, in a process that cannot open the labels; the only importer of Starlette.

    app        the ASGI application and its error handlers
    security   response headers, body limits, sessions, CSRF protection, rate limits
    timeouts   timeouts for slow clients
    pages      HTML pages and static files
    forms      HTML forms and file upload
    api        the REST interface and its OpenAPI document
    processes  the processes of `pippin serve`
    demo       a board on the standard library, with every ranker submitted

Pages work without JavaScript, which adds a filter, a dark theme, and updates without reloading.
"""
