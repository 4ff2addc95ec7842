"""Readers of collections: from files to a `Collection`.

| format  | looks like                                                   | fields                  | links        |
|---------|--------------------------------------------------------------|--------------------------|--------------|
| smart   | `.I 1`, then `.T .A .W` …; a file or a folder                | title, abstract          | `.X`, type 5 |
| medline | `.I 1`, `.U`, then `.T .W .M` …; files or folders            | title, abstract          |              |
| trec    | `<DOC><DOCNO>` … `<TEXT>`; files or folders, `.gz`           | title, body              |              |
| trecweb | `<DOC><DOCNO><DOCHDR>` url, then HTML; files, folders, `.gz` | body, anchor, title, url | of the pages |
| warc    | `.warc`, `.warc.gz`; files or folders                        | body, anchor, title, url | of the pages |
| html    | a folder of `.html` files, urls in `urls.tsv`                | body, anchor, title, url | of the pages |
| texts   | a folder of `.txt` or `.md` files                            | text, or title and body  |              |
| mail    | `.eml`, `.mbox`, newsgroups' and mailers' folders            | title, body              |              |
| jsonl   | `.jsonl`, also feeds and dumps of search engines and MongoDB | every field of text      | `links`      |
| json    | `.json`: an array, in an object or not, by ids, lines, all   | every field of text      | `links`      |
| arrow   | `.arrow`, as Hugging Face's `datasets` keeps it              | every column of text     | `links`      |
| csv     | `.csv` with headings or without; `,`, `;`, tab or bar        | columns with words       | `links`      |
| tsv     | `.tsv` with headings, or of id and text, as `.txt` may be    | columns with words       | `links`      |
| xml     | `.xml`: Wikipedia, Solr, Stack Exchange, records with ids    | every field with words   |              |
| parquet | `.parquet`                                                   | every column of text     | `links`      |
| beir    | a folder: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`  | every field of text      | `links`      |
| npl     | `doc-text`, `query-text`, `rlv-ass`                          | text                     |              |
| time    | `TIME.ALL`, `TIME.QUE`, `TIME.REL.ALL` or `TIME.REL`         | text                     |              |
| lisa    | `LISA0.001` …, `LISA.QUE`, `LISA.REL`                        | title, abstract          |              |
| irds    | `irds:` and an id of ir_datasets                             | every field of text      |              |

Web pages also have the field extracted_title: the visible title, detected by its format.

On request (`fields`) there are more fields: author, source, keywords, categories, note and anchor (smart); mesh,
author, source and type (medline); headings (trecweb, warc, html). With several fields, `whole` combines them.

The id of a record is the field id, docno, doc_id, docid, document_id or pid, in any spelling (`_id`, `Doc-ID`); else
product_id, cord_uid and similar; else the first field that ends in id. Of several, the one with judged values counts.
Blanks in ids are written `%20`. A table without headings has the columns id and text, or id, title and text. A table is
one file, or several in a folder (of one format and with the same fields, or in `documents`, `docs`, `corpus`,
`collection`); text may be compressed by gzip, zstd, bzip2 or xz, and is UTF-8, UTF-16 with a byte order mark, or
windows-1252.

Queries (`queries.*`, `topics.*`; SMART: `*.qry`, `query.text`) and qrels (`qrels.*`, `judgements.*`; SMART: `*rel`,
`qrels.text`) are found beside the documents or in folders of such names, else by their columns (query, document and
label are qrels) or by the judged ids. Several files are merged unless they contradict each other; of several splits,
test comes before dev and train. `explain` describes how a folder is read.
"""

from pippin.collections.readers import (  # noqa: F401  (each registers its formats)
    benchmarks,
    smart,
    tables,
    text_files,
    trec,
    web,
)
from pippin.collections.readers.base import READERS, Reader, make_collection, read_collection, register
from pippin.collections.readers.explain import explain
from pippin.collections.readers.layout import ReadRequest
from pippin.collections.readers.topics import read_queries

__all__ = [
    "READERS",
    "ReadRequest",
    "Reader",
    "explain",
    "make_collection",
    "read_collection",
    "read_queries",
    "register",
]
