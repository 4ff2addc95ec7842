"""Readers of collections: from files to a `Collection`.

| format  | looks like                                                   | streams                  | links        |
|---------|--------------------------------------------------------------|--------------------------|--------------|
| smart   | `.I 1`, then `.T .A .W` …; a file or a folder                | title, abstract          | `.X`, type 5 |
| medline | `.I 1`, `.U`, then `.T .W .M` …; files or folders            | title, abstract          |              |
| trec    | `<DOC><DOCNO>` … `<TEXT>`; files or folders, `.gz`           | title, body              |              |
| trecweb | `<DOC><DOCNO><DOCHDR>` url, then HTML; files, folders, `.gz` | body, anchor, title, url | of the pages |
| warc    | `.warc`, `.warc.gz`; files or folders                        | body, anchor, title, url | of the pages |
| html    | a folder of `.html` files, urls in `urls.tsv`                | body, anchor, title, url | of the pages |
| texts   | a folder of `.txt` or `.md` files                            | text, or title and body  |              |
| jsonl   | `.jsonl`, also bulk files and dumps of search engines        | every field of text      | `links`      |
| json    | `.json`: an array of objects, or an answer to `_search`      | every field of text      | `links`      |
| arrow   | `.arrow`, as Hugging Face's `datasets` keeps it              | every column of text     | `links`      |
| csv     | `.csv` with headings                                         | every column             | `links`      |
| tsv     | `.tsv` with headings, or of two columns, id and text         | every column             | `links`      |
| parquet | `.parquet`                                                   | every column of text     | `links`      |
| beir    | a folder: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`  | every field of text      | `links`      |
| npl     | `doc-text`, `query-text`, `rlv-ass`                          | text                     |              |
| time    | `TIME.ALL`, `TIME.QUE`, `TIME.REL.ALL` or `TIME.REL`         | text                     |              |
| lisa    | `LISA0.001` …, `LISA.QUE`, `LISA.REL`                        | title, abstract          |              |
| irds    | `irds:` and an id of ir_datasets                             | every field of text      |              |

Web pages also have the stream extracted_title: the title that stands on the page, found by how it looks.
More streams where asked for by `streams`: author, source, keywords, categories, note and anchor (smart); mesh, author,
source, type (medline); headings (trecweb, warc, html). Where there are several streams, `whole` is their union.
The id of a record is called id, _id, docno, doc_id, docid, document_id or pid. A table is one file, or pieces in a
folder (all of one form, or those in `documents`, `docs`, `corpus`, `collection`), packed by gzip or zstd if it is text.
Queries (`queries.*`, `topics.*`; SMART: `*.qry`, `query.text`) and judgements (`qrels.*`; SMART: `*rel`, `qrels.text`)
are found beside the documents, or named. `explain` says what is seen in a folder.
"""

from pippin.collection.readers import (  # noqa: F401  (each puts itself on the shelf)
    beir,
    classics,
    html_folder,
    irds,
    medline,
    smart,
    tables,
    texts,
    trec,
    trecweb,
    warc,
)
from pippin.collection.readers.base import READERS, Reader, Wanted, collect, read_collection, register
from pippin.collection.readers.explain import explain
from pippin.collection.topics import read_queries

__all__ = ["READERS", "Reader", "Wanted", "collect", "explain", "read_collection", "read_queries", "register"]
