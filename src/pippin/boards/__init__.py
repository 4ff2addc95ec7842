"""Boards that others submit to: labels stay hidden, and the order can be trusted.

    site         the folder that is served: boards, submissions, the database; and the hidden part, kept apart
    board        how a data set becomes a board: what is public, what is hidden, which queries are kept for the end
    submission   what is sent in: scores, a run or a model, with a card that says what it is
    ladder       which values are shown, so that nobody climbs the test set
    store        accounts, boards, submissions and the log in SQLite or PostgreSQL
    log          an append-only log of which each entry holds the hash of the one before, and signed receipts
    accounts     tokens, invitations, sessions
    sending      how a submission is accepted: limits, files, the queue
    scoring      what a submission is worth: computed in a process of its own, the only one that opens the labels
    standing     the leaderboard, what other tools would say of it, and what is revealed when a board is closed
    export       a board as one JSON file, and as a folder of results that `pippin report` draws
    client       submitting to a server from afar

Nothing here knows HTTP but `client`; the pages are in `pippin.serve`.
"""
