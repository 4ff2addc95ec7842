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

Web pages also have the stream extracted_title: the title that stands on the page, found by how it looks.
More streams where asked for by `streams`: author, source, keywords, categories, note and anchor (smart); mesh, author,
source, type (medline); headings (trecweb, warc, html). Where there are several streams, `whole` is their union.
The id of a record is called id, docno, doc_id, docid, document_id or pid, in any spelling (`_id`, `Doc-ID`); else
product_id, cord_uid and the like; else it is the first field that ends in id. Of several, that is taken whose values
were judged. Blanks in ids are written `%20`. A table without headings has two columns, id and text, or three with a
title between them. A table is one file, or pieces in a folder (all of one form and with the same fields, or those in
`documents`, `docs`, `corpus`, `collection`), packed by gzip, zstd, bzip2 or xz if it is text. Text is UTF-8, UTF-16
with its mark, or windows-1252. Queries (`queries.*`, `topics.*`; SMART: `*.qry`, `query.text`) and judgements
(`qrels.*`, `judgements.*`; SMART: `*rel`, `qrels.text`) are found beside the documents or in folders of such names,
else by their columns: a query, a document and a label make judgements, or by the ids that were judged. Pieces of them
are read as one where they do not contradict each other. Of several splits test comes before dev and train. `explain`
says what is seen in a folder.
"""

from pippin.collection.readers import (  # noqa: F401  (each puts itself on the shelf)
    beir,
    classics,
    html_folder,
    irds,
    mail,
    medline,
    smart,
    tables,
    texts,
    trec,
    trecweb,
    warc,
)
from pippin.collection.readers.asked import Wanted
from pippin.collection.readers.base import READERS, Reader, collect, read_collection, register
from pippin.collection.readers.explain import explain
from pippin.collection.topics import read_queries

__all__ = ["READERS", "Reader", "Wanted", "collect", "explain", "read_collection", "read_queries", "register"]
