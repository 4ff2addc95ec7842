"""Common folder layouts of collections, all with the same two documents, queries and judgements."""

from __future__ import annotations

import json
from typing import Any

import pyarrow
from tests.collections.readers.samples import make_warc_record

Files = dict[str, Any]
QRELS = "1 0 a 2\n2 0 b 1\n"
TOPICS = "1\tapples\n2\tpears\n"
JUDGED = {("1", "a"): 2, ("2", "b"): 1}
XML_TOPICS = (
    "<topics><topic number='1'><query>apples</query></topic><topic number='2'><query>pears</query></topic></topics>"
)


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def table(*rows: dict[str, Any]) -> pyarrow.Table:
    return pyarrow.Table.from_pylist(list(rows))


def trec(name: str, text: str) -> str:
    return f"<DOC>\n<DOCNO> {name} </DOCNO>\n<TEXT>\n{text}\n</TEXT>\n</DOC>\n"


RECORDS = [{"id": "a", "text": "apples"}, {"id": "b", "text": "pears"}]
DOCS = lines(*RECORDS)
COLLECTIONS: dict[str, Files] = {
    "beir with numbers, one split": {
        "corpus.jsonl": lines({"_id": "a", "text": "apples"}, {"_id": "b", "text": "pears"}),
        "queries.jsonl": lines({"_id": 1, "text": "apples"}, {"_id": 2, "text": "pears"}),
        "qrels/test.tsv": "query-id\tcorpus-id\tscore\n1\ta\t2\n2\tb\t1\n",
    },
    "ms marco with all its splits": {
        "collection.tsv": "a\tapples\nb\tpears\n",
        "queries.dev.tsv": TOPICS, "queries.dev.small.tsv": "1\tapples\n", "queries.train.tsv": "7\tplums\n",
        "qrels.dev.tsv": "1\t0\ta\t2\n2\t0\tb\t1\n", "qrels.dev.small.tsv": "1\t0\ta\t2\n",
        "qrels.train.tsv": "7\t0\ta\t1\n",
    },
    "trec in both cases": {
        "one/fb.gz": make_warc_record("<DOC>\n<DOCNO> a </DOCNO>\n<TEXT>apples</TEXT>\n</DOC>\n"),
        "two/ft": "<doc>\n<docno>b</docno>\npears\n</doc>\n", "two/readme.txt": "nothing",
        "topics.1-2.txt": "<top>\n<num> Number: 001\n<title> apples\n</top>\n<top>\n<num> 2\n<title> pears\n</top>\n",
        "qrels.adhoc.txt": "001 0 a 2\n002 0 b 1\n",
    },
    "cord": {
        "metadata.csv": "cord_uid,title,abstract,publish_time,mag_id\na,apples,,2020-01-01,\nb,pears,,2020-01-02,\n",
        "topics-rnd5.xml": XML_TOPICS, "qrels-covid_d5.txt": "1 4.5 a 2\n2 4.5 b 1\n",
    },
    "hugging face": {
        "corpus/corpus-00000-of-00001.parquet": table({"_id": "a", "text": "apples"}, {"_id": "b", "text": "pears"}),
        "queries/queries-00000-of-00001.parquet": table({"_id": "1", "text": "apples"}, {"_id": "2", "text": "pears"}),
        "default/test-00000-of-00001.parquet": table(
            {"query-id": "1", "corpus-id": "a", "score": 2.0}, {"query-id": "2", "corpus-id": "b", "score": 1.0}),
        "README.md": "# data",
    },
    "answers to _search and ratings": {
        "page1.json": json.dumps({"hits": {"hits": [{"_id": "a", "_source": {"text": "apples"}}]}}, indent=1),
        "page2.json": json.dumps({"hits": {"hits": [{"_id": "b", "_source": {"text": "pears"}}]}}, indent=1),
        "topics.json": json.dumps({"topics": [{"id": 1, "query": "apples"}, {"id": 2, "query": "pears"}]}),
        "ratings.json": json.dumps([{"id": 1, "ratings": [{"_id": "a", "rating": 2}]},
                                    {"id": 2, "ratings": [{"_id": "b", "rating": 1}]}]),
    },
    "topics of any name": {
        "disk/ft911": trec("a", "apples") + trec("b", "pears"),
        "04.testset": "<top>\n<num> Number: 1\n<title> apples\n</top>\n<top>\n<num> Number: 2\n<title> pears\n</top>\n",
        "qrels.txt": QRELS,
    },
    "headings in another language": {
        "docs.csv": "ID;Text\na;apples\nb;pears\n", "queries.csv": "ID;Frage\n1;apples\n2;pears\n",
        "qrels.csv": "Anfrage;Dokument;Relevanz\n1;a;2\n2;b;1\n",
    },
    "ntcir": {
        "docs.jsonl": DOCS, "www.qrels": "1 a L2\n2 b L1\n",
        "eng.queries.xml": "<queries><query><qid>1</qid><content>apples</content></query>"
                           "<query><qid>2</qid><content>pears</content></query></queries>",
    },
    "queries as elements with numbers": {
        "docs.jsonl": DOCS, "qrels.txt": QRELS,
        "queries.xml": "<all><query id='1'>apples</query><query id='2'>pears</query></all>",
    },
    "an index of pandas for an id": {
        "docs.csv": "index,text\na,apples\nb,pears\n", "queries.csv": "index,query\n1,apples\n2,pears\n",
        "qrels.csv": "query,doc,rel\n1,a,2\n2,b,1\n",
    },
    "queries judged by their texts": {
        "docs.jsonl": DOCS, "queries.tsv": TOPICS, "qrels.csv": "query,doc_id,rel\napples,a,2\npears,b,1\n",
    },
    "words of no usual scale": {
        "docs.jsonl": DOCS, "queries.tsv": TOPICS,
        "qrels.csv": "query_id,doc_id,label\n1,a,Very Relevant\n2,b,Somewhat relevant\n",
    },
    "a query that stands twice": {"docs.jsonl": DOCS, "queries.tsv": TOPICS + "1\tapples\n", "qrels.txt": QRELS},
    "texts in an object inside": {
        "docs.jsonl": lines({"id": "a", "content": {"text": "some red apples"}, "tags": ["x"]},
                            {"id": "b", "content": {"text": "some green pears"}, "tags": ["y"]}),
        "queries.tsv": TOPICS, "qrels.txt": QRELS,
    },
    "a tsv with quotes around lines": {
        "docs.tsv": 'id\ttext\na\t"red\n""apples"""\nb\tpears\n', "queries.tsv": TOPICS, "qrels.txt": QRELS,
    },
    "everything in one table": {
        "test.csv": "query_id,query,doc_id,passage,label\n1,apples,a,there are some red apples,2\n"
                    "2,pears,b,there are some green pears,1\n",
    },
    "mail": {
        "a.eml": "Subject: apples\nMessage-ID: <7@x>\n\nred\n",
        "b.eml": "Subject: pears\nContent-Type: text/html; charset=utf-8\n\n<html><p>green</p></html>\n",
        "queries.tsv": TOPICS, "qrels.txt": QRELS,
    },
    "news": {
        "a": "From: x@y.z\nSubject: apples\n\nred\n", "b": "From: x@y.z\nSubject: pears\n\ngreen\n",
        "queries.txt": TOPICS, "qrels.txt": QRELS,
    },
    "anserini's pieces": {
        "collection_jsonl/docs00.json": lines({"id": "a", "contents": "apples"}, {"id": "b", "contents": "pears"}),
        "topics.tsv": "1 apples\n2 pears\n", "qrels.txt": QRELS,
    },
    "wikipedia": {
        "pages.xml": '<mediawiki xmlns="x"><siteinfo><a>w</a></siteinfo>'
                     "<page><title>A</title><id>a</id><revision><id>7</id><text>apples</text></revision></page>"
                     "<page><title>B</title><id>b</id><revision><id>8</id><text>pears</text></revision></page></mediawiki>",
        "queries.tsv": "1:apples\n2:pears\n", "qrels.txt": QRELS,
    },
    "ntcir without a root": {
        "docs.xml": "<REC><ACCN>a</ACCN><TITE>apples</TITE></REC>\n<REC><ACCN>b</ACCN><TITE>pears</TITE></REC>\n",
        "topics.xml": "<TOPIC><NUM>0001</NUM><TITLE>apples</TITLE></TOPIC>"
                      "<TOPIC><NUM>0002</NUM><TITLE>pears</TITLE></TOPIC>",
        "qrels.txt": "0001\tA\ta\t2\n0002\tA\tb\t1\n",
    },
    "solr": {
        "add.xml": '<add><doc><field name="id">a</field><field name="t">apples</field></doc>'
                   '<doc><field name="id">b</field><field name="t">pears</field></doc></add>',
        "queries.json": json.dumps({"1": "apples", "2": "pears"}),
        "qrels.json": json.dumps({"1": {"a": 2}, "2": {"b": 1}}),
    },
    "semicolons, byte order mark and columns in any order": {
        "documents.csv": "\ufeffID;Title\r\na;apples\r\nb;pears\r\n",
        "queries.csv": "\ufeffQuery_ID;Query\r\n1;apples\r\n2;pears\r\n",
        "judgements.csv": "\ufeffRelevance;Doc_ID;Query_ID\r\n2;a;1\r\n1;b;2\r\n",
    },
    "wands": {
        "product.csv": "product_id\tproduct_name\trating_count\na\tapples\t3.0\nb\tpears\t\n",
        "query.csv": "query_id\tquery\tquery_class\n1\tapples\tx\n2\tpears\tx\n",
        "label.csv": "id\tquery_id\tproduct_id\tlabel\n0\t1\ta\tExact\n1\t2\tb\tPartial\n",
    },
    "esci": {
        "shopping_queries_dataset_products.parquet": table(
            {"product_id": "a", "product_title": "apples"}, {"product_id": "b", "product_title": "pears"}),
        "shopping_queries_dataset_examples.parquet": table(
            {"example_id": 0, "query": "apples", "query_id": 1, "product_id": "a", "esci_label": "S"},
            {"example_id": 1, "query": "pears", "query_id": 2, "product_id": "b", "esci_label": "C"}),
        "shopping_queries_dataset_sources.csv": "query_id,source\n1,x\n2,x\n",
    },
    "texts in a folder, judged by a file of another name": {
        "corpus/a": "", "corpus/a.txt": "apples", "corpus/b.txt": "pears", "README.md": "# About",
        "queries.txt": TOPICS, "relevance.txt": "1 a 2\n2 b 1\n",
    },
    "judged in lists": {
        "corpus.json": json.dumps({"a": {"text": "apples"}, "b": {"text": "pears"}}),
        "queries.json": json.dumps([{"id": 1, "text": "apples"}, {"id": 2, "text": "pears"}]),
        "relevance.json": json.dumps({"1": ["a"], "2": ["b"]}),
    },
    "a table in windows-1252": {
        "docs.csv": "id,text\na,apples \xe9t\xe9\nb,pears\n".encode("cp1252"), "queries.tsv": TOPICS, "qrels.tsv":
        "qid\tdocno\tlabel\titeration\n1\ta\t2\t0\n2\tb\t1\t0\n",
    },
    "pieces of queries and judgements": {
        "docs-1.tsv": "a\tred apples\n", "docs-2.tsv": "b\tgreen pears\n",
        "queries-1.tsv": "1\tapples\n", "queries-2.tsv": "2\tpears\n",
        "qrels.part1": "1 0 a 2\n", "qrels.part2": "2 0 b 1\n",
    },
    "topics of several years": {
        "docs.trec": trec("a", "apples") + trec("b", "pears"),
        "topics/topics.2019.txt": "<top>\n<num> Number: 1\n<title> apples\n</top>\n",
        "topics/topics.2020.txt": "<top>\n<num> Number: 2\n<title> pears\n</top>\n",
        "qrels/qrels.2019.txt": "1 0 a 2\n", "qrels/qrels.2020.txt": "2 0 b 1\n",
    },
    "hugging face in pieces": {
        "corpus/train-00000-of-00002.parquet": table({"id": "a", "content": {"body": "apples", "year": 3}}),
        "corpus/train-00001-of-00002.parquet": table({"id": "b", "content": {"body": "pears", "year": 3}}),
        "queries/test-00000-of-00002.parquet": table({"query_id": "1", "text": "apples"}),
        "queries/test-00001-of-00002.parquet": table({"query_id": "2", "text": "pears"}),
        "qrels/test-00000-of-00002.parquet": table({"query_id": "1", "corpus_id": "a", "score": 2}),
        "qrels/test-00001-of-00002.parquet": table({"query_id": "2", "corpus_id": "b", "score": 1}),
    },
    "csv without headings": {
        "documents.csv": 'a1,"apples, red"\nb2,pears\n',
        "queries.csv": "1,apples\n2,pears\n", "qrels.csv": "1,a1,2\n2,b2,1\n",
    },
    "csv without headings, three columns and semicolons": {
        "corpus.csv": "a1;Fruit;apples\nb2;Fruit;pears\n", "topics.csv": "1;apples\n2;pears\n",
        "judgements.csv": "1;0;a1;2\n2;0;b2;1\n",
    },
    "tsv of three columns": {
        "docs.tsv": "a\tFruit\tapples\nb\tFruit\tpears\n", "queries.tsv": TOPICS, "qrels.txt": QRELS,
    },
    "judged with commas in a text": {"docs.jsonl": DOCS, "queries.txt": TOPICS, "qrels.txt": "1,a,2\n2,b,1\n"},
    "the document before the query": {"docs.jsonl": DOCS, "queries.tsv": TOPICS, "qrels.tsv": "a\t1\t2\nb\t2\t1\n"},
    "the label before the document": {"docs.jsonl": DOCS, "queries.tsv": TOPICS, "qrels.tsv": "1\t2\ta\n2\t1\tb\n"},
    "prels": {"docs.jsonl": DOCS, "queries.tsv": TOPICS, "prels.1-2": "1 a 2 1 0.5\n2 b 1 1 0.5\n"},
    "ratings in a list": {
        "docs.jsonl": DOCS, "judgments.txt": "# qid:1: apples\n#\n2\tqid:1\t # a\tapples\n1\tqid:2\t # b\tpears\n",
    },
    "clef": {
        "gh95/gh950102.sgml": trec("a", "apples") + trec("b", "pears"),
        "topics/Top-en04.txt": "<?xml version='1.0'?>\n<top>\n<num> 1 </num>\n<EN-title> apples </EN-title>\n"
                               "<EN-desc> of apples </EN-desc>\n</top>\n"
                               "<top>\n<num>2</num><EN-title>pears</EN-title>\n</top>\n",
        "qrels/qrels_EN": QRELS,
    },
    "girt": {
        "part1.sgml": '<?xml version="1.0"?>\n<DOCS>\n' + trec("a", "apples") + trec("b", "pears") + "</DOCS>\n",
        "topics.xml": "<topics><topic lang='en'><identifier>1</identifier><title>apples</title></topic>"
                      "<topic lang='en'><identifier>2</identifier><title>pears</title></topic></topics>",
        "qrels.txt": QRELS,
    },
    "clueweb's topics": {
        "docs.jsonl": DOCS, "wt09.topics.full.xml": XML_TOPICS.replace("topics>", "webtrack2009>"),
        "qrels.adhoc.wt09": QRELS,
    },
    "chic": {
        "en/1.xml": '<c xmlns:i="http://i" xmlns:d="http://d">'
                    '<i:m i:identifier="a"><i:f><d:title>x</d:title><d:text>apples</d:text></i:f></i:m>'
                    '<i:m i:identifier="b"><i:f><d:title>x</d:title><d:text>pears</d:text></i:f></i:m></c>',
        "topics.tsv": TOPICS, "chic.qrels": QRELS,
    },
    "inex, an article a file": {
        f"pages/{name}.xml": f"<article><header><title>{name}</title><id>{name}</id></header><bdy><p>on {text}</p>"
                             f"<sec><st>more of</st><p>{text}</p></sec></bdy></article>"
        for name, text in (("a", "apples"), ("b", "pears"))
    } | {"topics.xml": XML_TOPICS.replace("number", "id"), "inex.qrels": QRELS},
    "stack exchange with all its tables": {
        "Posts.xml": '<posts><row Id="a" Title="x" Body="apples red" /><row Id="b" Title="x" Body="pears" /></posts>',
        "Tags.xml": '<tags><row Id="1" TagName="x" /></tags>', "queries.tsv": TOPICS, "qrels.txt": QRELS,
    },
    "solr's json": {
        "select.json": json.dumps({"responseHeader": {"status": 0}, "response": {"numFound": 2, "docs": RECORDS}}),
        "queries.tsv": TOPICS, "qrels.txt": QRELS,
    },
    "meilisearch": {
        "documents.json": json.dumps({"results": RECORDS, "total": 2}), "queries.tsv": TOPICS, "qrels.txt": QRELS,
    },
    "algolia": {
        "records.json": json.dumps([{"objectID": record["id"], "text": record["text"]} for record in RECORDS]),
        "queries.tsv": TOPICS, "qrels.txt": QRELS,
    },
    "vespa": {
        "feed.json": json.dumps(
            [{"put": f"id:x:y::{record['id']}", "fields": {"text": record["text"]}} for record in RECORDS]
        ),
        "queries.tsv": TOPICS, "qrels.txt": QRELS,
    },
    "mongodb": {
        "articles.json": lines(*({"_id": {"$oid": record["id"]}, "text": record["text"]} for record in RECORDS)),
        "queries.tsv": TOPICS, "qrels.txt": QRELS,
    },
    "pandas by columns": {
        "docs.json": json.dumps({"docno": {"0": "a", "1": "b"}, "text": {"0": "apples", "1": "pears"}}),
        "queries.json": json.dumps({"qid": {"0": "1", "1": "2"}, "query": {"0": "apples", "1": "pears"}}),
        "qrels.json": json.dumps({"qid": {"0": 1, "1": 2}, "docno": {"0": "a", "1": "b"}, "label": {"0": 2, "1": 1}}),
    },
    "pandas by rows": {
        "docs.json": json.dumps({"0": {"docno": "a", "text": "apples"}, "1": {"docno": "b", "text": "pears"}}),
        "queries.json": json.dumps({"0": {"qid": 1, "query": "apples"}, "1": {"qid": 2, "query": "pears"}}),
        "qrels.json": json.dumps({"0": {"qid": 1, "docno": "a", "rel": 2}, "1": {"qid": 2, "docno": "b", "rel": 1}}),
    },
    "pandas by splits, and a table": {
        "docs.json": json.dumps({"schema": {"fields": [{"name": "id"}]}, "data": RECORDS}),
        "queries.json": json.dumps({"columns": ["qid", "query"], "data": [[1, "apples"], [2, "pears"]]}),
        "qrels.json": json.dumps({"columns": ["qid", "docno", "rel"], "data": [[1, "a", 2], [2, "b", 1]]}),
    },
    "all in one file": {"all.json": json.dumps({
        "docs": RECORDS, "queries": {"1": "apples", "2": "pears"},
        "qrels": [{"query_id": 1, "doc_id": "a", "rel": 2}, {"query_id": 2, "doc_id": "b", "rel": 1}]})},
    "passages with the ids of their documents": {
        "passages/p_00.gz": make_warc_record(lines({"pid": "a", "docid": "D", "passage": "apples"},
                                         {"pid": "b", "docid": "D", "passage": "pears"})),
        "v2_queries.tsv": TOPICS, "v2_qrels.tsv": "1\t0\ta\t2\n2\t0\tb\t1\n",
    },
    "antique": {
        "antique-collection.txt": "a\tred apples\nb\tgreen pears\n", "antique-test-queries.txt": TOPICS,
        "antique-test.qrel": "1 Q0 a 2\n2 U0 b 1\n",
    },
    "json lines in a text": {"docs.txt": DOCS, "queries.txt": TOPICS, "qrels.txt": QRELS},
    "objects inside of objects": {
        "docs.jsonl": lines({"id": "a", "body": [{"text": "red"}, {"text": "apples"}]},
                            {"id": "b", "body": [{"text": "pears"}]}),
        "queries.tsv": TOPICS, "qrels.txt": QRELS,
    },
    "utf-16, and a mac's lines": {
        "Documents.txt": "id\ttext\r\na\tapples\r\nb\tpears\r\n".encode("utf-16"),
        "queries.tsv": TOPICS.replace("\n", "\r"), "qrels.txt": QRELS.encode("utf-16"),
    },
    "lines in windows-1252": {
        "docs.tsv": "a\tapples \xe9t\xe9\nb\tpears\n".encode("cp1252"), "queries.tsv": TOPICS, "qrels.txt": QRELS,
    },
}  # fmt: skip


def asking(asked: str, **lists: str) -> Files:
    """Documents, and queries with a list of what is relevant to each."""
    (name,) = lists
    ids = lists[name]
    return {"docs.jsonl": DOCS, f"{ids}.jsonl": lines(
        {"id": 1, asked: "on apples", name: ["a"]}, {"id": 2, asked: "on pears", name: ["b"]})}  # fmt: skip


LISTED: dict[str, Files] = {  # forms in which all that is listed is relevant
    "pairs": {"docs.jsonl": DOCS, "queries.tsv": TOPICS, "qrels.tsv": "1\ta\n2\tb\n"},
    "fiqa": {
        "doc_final.tsv": "\tdocid\tdoc\ttime\n0\ta\tapples\t2009\n1\tb\tpears\t2009\n",
        "question_final.tsv": "\tqid\tquestion\ttime\n0\t1\tapples\t2009\n1\t2\tpears\t2009\n",
        "question_doc_final.tsv": "\tqid\tdocid\n0\t1\ta\n1\t2\tb\n",
    },
    "queries with lists": asking("question", relevant_docs="queries"),
    "lotte": asking("query", answer_pids="dev/qas.search") | {"metadata.jsonl": lines({"set": "x", "post_id": "a"})},
    "scifact": asking("claim", cited_doc_ids="claims_dev") | {"claims_test.jsonl": lines({"id": 9, "claim": "plums"})},
    "llama's": {"all.json": json.dumps({
        "corpus": {"a": "apples", "b": "pears"}, "queries": {"1": "apples", "2": "pears"},
        "relevant_docs": {"1": ["a"], "2": ["b"]}, "mode": "text"})},
}  # fmt: skip
