"""How good are the answers on judged questions over documentation trees, and how good are peers on the same?

Needs IPMICRA_DOCS, a folder with one folder of HTML files per site, named as in
search_parts/documentation.py (`apt-get download python3-doc postgresql-doc-15 git-doc sqlite3-doc ...` and
`dpkg-deb -x` make them). Sites are split into a tuning and a test part. Prints success at 1 and 3, MRR and
nDCG at 10 for each kind of question.

    python -m benchmarks judged            the test part, and peers
    python -m benchmarks judged --tuning   the tuning part
    python -m benchmarks judged --misses   and the questions whose page was not first
    python -m benchmarks judged --learn    weights from the tuning part, cross-validated by site
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.search_parts.documentation import TEST, TUNING, JudgedQuestion, documentation
from benchmarks.search_parts.learning import learn
from benchmarks.search_parts.measures import measures
from benchmarks.search_parts.peers import peers
from ipmicra.carrier.package import Package, PackageHeader
from ipmicra.crawler.extraction import Page
from ipmicra.model.records import PageSeen
from ipmicra.model.search import SearchRequest
from ipmicra.search.tantivy.index import TantivyIndex


def main() -> None:
    parser = argparse.ArgumentParser(description="How good are the answers?")
    parser.add_argument("--tuning", action="store_true", help="ask about the sites of the tuning part")
    parser.add_argument("--misses", action="store_true", help="show questions whose page is not first")
    parser.add_argument("--learn", action="store_true", help="learn weights on the tuning part")
    parser.add_argument("--no-peers", action="store_true", help="leave the peers out")
    flags = parser.parse_args()
    judged = documentation()
    with tempfile.TemporaryDirectory(prefix="ipmicra-judged-") as folder:
        index = indexed(judged.pages, Path(folder) / "index")
        if flags.learn:
            learn(index, [one for one in judged.questions if one.site in TUNING])
            return
        part = TUNING if flags.tuning else TEST
        questions = [one for one in judged.questions if one.site in part]
        print(f"{len(judged.pages):,} pages, {len(questions)} questions about {', '.join(part)}")
        ranks = [rank_of(one, ours(index, one.text)) for one in questions]
        show("ipmicra", questions, ranks)
        if flags.misses:
            _show_misses(index, questions, ranks)
        if not flags.no_peers:
            for name, search in peers(judged.pages, Path(folder)).items():
                show(name, questions, [rank_of(one, search(one.text)) for one in questions])
        index.close()


def indexed(pages: list[Page], folder: Path) -> TantivyIndex:
    header = PackageHeader(crawler="c", sequence=1, records=len(pages), inflated_bytes=0)
    records = [PageSeen(url=page.url, visit=1, fetched_at_ms=0, page=page) for page in pages]
    index = TantivyIndex(folder, writable=True)
    index.integrate(Package(header, list(records)), "d")
    index.commit()
    return index


def ours(index: TantivyIndex, text: str) -> list[str]:
    return [hit.url for hit in index.search(SearchRequest(text=text)).hits]


def rank_of(question: JudgedQuestion, urls: list[str]) -> int:
    return next((rank for rank, url in enumerate(urls[:10], 1) if url in question.urls), 0)


def show(name: str, questions: list[JudgedQuestion], ranks: list[int]) -> None:
    print(f"\n{name:36} {'asked':>6} {'first':>7} {'in 3':>7} {'MRR':>6} {'nDCG':>6}")
    kinds = sorted({one.kind for one in questions})
    for kind in [*kinds, ""]:
        some = [rank for rank, one in zip(ranks, questions, strict=True) if not kind or one.kind == kind]
        found = measures(some)
        print(
            f"  {kind or 'all':34} {found.questions:6} {found.first:7.1%} {found.first_three:7.1%}"
            f" {found.mrr:6.3f} {found.ndcg:6.3f}"
        )


def _show_misses(index: TantivyIndex, questions: list[JudgedQuestion], ranks: list[int]) -> None:
    for one, rank in zip(questions, ranks, strict=True):
        if rank != 1:
            first = (ours(index, one.text) or ["nothing"])[0]
            print(f"  {rank:2} {one.kind:12} {one.text!r}: {first} before {min(one.urls)}")


if __name__ == "__main__":
    main()
