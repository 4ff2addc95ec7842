// Trains one of QuickRank's rankers, writes its model, reads that back and prints the scores in full. To be linked with
// QuickRank's library: quickrank_scores KIND TRAIN TEST MODEL
#include <cstdio>
#include <memory>
#include <string>

#include "io/svml.h"
#include "learning/forests/lambdamart.h"
#include "learning/forests/mart.h"
#include "learning/forests/obliviousmart.h"
#include "learning/forests/randomforest.h"
#include "learning/forests/rankboost.h"
#include "learning/linear/coordinate_ascent.h"
#include "learning/linear/line_search.h"
#include "metric/ir/ndcg.h"

using namespace quickrank;
using Ranker = std::shared_ptr<learning::LTR_Algorithm>;

static Ranker made(const std::string& kind) {
    if (kind == "mart") return Ranker(new learning::forests::Mart(20, 0.1, 0, 8, 1, 1.0f, 1.0f, 0, 0));
    if (kind == "lambdamart") return Ranker(new learning::forests::LambdaMart(20, 0.1, 0, 8, 1, 1.0f, 1.0f, 0, 0));
    if (kind == "oblivious") return Ranker(new learning::forests::ObliviousMart(10, 0.1, 16, 3, 1, 1.0f, 1.0f, 0, 0));
    if (kind == "forest") return Ranker(new learning::forests::RandomForest(10, 0.1, 0, 8, 1, 0.5f, 0.5f, 0, 0));
    if (kind == "rankboost") return Ranker(new learning::forests::Rankboost(20));
    if (kind == "ascent") return Ranker(new learning::linear::CoordinateAscent(11, 10.0, 0.95, 10, 5));
    return Ranker(new learning::linear::LineSearch(11, 10.0, 0.95, 10, 5, false));
}

int main(int, char** given) {
    const std::string kind = given[1], model = given[4];
    io::Svml reader;
    std::shared_ptr<data::Dataset> train = reader.read_horizontal(given[2]), test = reader.read_horizontal(given[3]);
    const Ranker ranker = made(kind);
    ranker->learn(train, nullptr, std::make_shared<metric::ir::Ndcg>(10), 0, "");
    ranker->save(model);
    pugi::xml_document file;
    file.load_file(model.c_str());
    const Ranker again = kind == "forest" ? Ranker(new learning::forests::Mart(file))  // which its reader does not know
                                          : learning::LTR_Algorithm::load_model_from_xml(file);
    for (size_t i = 0; i < test->num_instances(); ++i)
        std::fprintf(stderr, "score %.17g\n", again->score_document(test->at(i, 0)));
}
