/* Re-rank what a search engine found, without Python: the same as rerank.py, with a model that was exported to C.
 *
 *     pippin export model.json --to c -o ranker.h
 *     cc -std=c99 -O2 rerank.c -o rerank -lm && ./rerank < hits > reranked
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranker.h"

enum { HITS = 10000, LINE = 1 << 16 };

struct hit {
    double score;
    int place;
    char document[256];
};

static int better(const void *a, const void *b)
{
    const struct hit *one = a, *two = b;
    if (one->score != two->score)
        return one->score < two->score ? 1 : -1;
    return one->place - two->place;
}

static void print(const char *query, struct hit *hits, int count)
{
    qsort(hits, (size_t)count, sizeof *hits, better);
    for (int i = 0; i < count; i++)
        printf("%s\t%s\t%.17g\n", query, hits[i].document, hits[i].score);
}

int main(void)
{
    static struct hit hits[HITS];
    static char line[LINE];
    char query[256] = "";
    double features[RANKER_FEATURES];
    int count = 0;

    (void)ranker_feature_names;
    while (fgets(line, sizeof line, stdin)) {
        const char *asked = strtok(line, "\t\n"), *document = strtok(NULL, "\t\n");
        if (!asked || !document)
            continue;
        if (strcmp(query, asked) != 0 || count == HITS) {
            print(query, hits, count);
            snprintf(query, sizeof query, "%s", asked);
            count = 0;
        }
        for (int i = 0; i < RANKER_FEATURES; i++) {
            const char *value = strtok(NULL, "\t\n");
            features[i] = value && strcmp(value, "-") != 0 ? strtod(value, NULL) : NAN;
        }
        snprintf(hits[count].document, sizeof hits[count].document, "%s", document);
        hits[count].score = ranker_score(features);
        hits[count].place = count;
        count++;
    }
    print(query, hits, count);
    return 0;
}
