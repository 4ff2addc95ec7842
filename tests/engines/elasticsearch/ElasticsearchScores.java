import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.elasticsearch.xcontent.NamedXContentRegistry;
import org.elasticsearch.xcontent.XContentParser;
import org.elasticsearch.xcontent.XContentParserConfiguration;
import org.elasticsearch.xcontent.json.JsonXContent;
import org.elasticsearch.xpack.core.ml.inference.MlInferenceNamedXContentProvider;
import org.elasticsearch.xpack.core.ml.inference.results.SingleValueInferenceResults;
import org.elasticsearch.xpack.core.ml.inference.trainedmodel.RegressionConfig;
import org.elasticsearch.xpack.core.ml.inference.trainedmodel.inference.InferenceDefinition;

/**
 * Prints the score of each row of a file of features, and an empty line after each model: DEFINITION FEATURES ...
 *
 * <p>DEFINITION is the decompressed definition of a trained model. FEATURES has a line of names and a line of values for
 * each document, separated by tabs; NaN is absent.
 */
public class ElasticsearchScores {
    public static void main(String[] arguments) throws Exception {
        NamedXContentRegistry registry =
                new NamedXContentRegistry(new MlInferenceNamedXContentProvider().getNamedXContentParsers());
        XContentParserConfiguration configuration = XContentParserConfiguration.EMPTY.withRegistry(registry);
        for (int i = 0; i < arguments.length; i += 2) {
            byte[] definition = Files.readAllBytes(Path.of(arguments[i]));
            try (XContentParser parser = JsonXContent.jsonXContent.createParser(configuration, definition)) {
                score(InferenceDefinition.fromXContent(parser), Path.of(arguments[i + 1]));
            }
            System.out.println();
        }
    }

    private static void score(InferenceDefinition model, Path features) throws Exception {
        List<String> lines = Files.readAllLines(features);
        String[] names = lines.get(0).split("\t");
        for (String line : lines.subList(1, lines.size())) {
            String[] values = line.split("\t");
            Map<String, Object> document = new HashMap<>();
            for (int i = 0; i < names.length; i++) {
                float value = Float.parseFloat(values[i]);
                if (!Float.isNaN(value)) {
                    document.put(names[i], value);
                }
            }
            var result = (SingleValueInferenceResults) model.infer(document, RegressionConfig.EMPTY_PARAMS);
            System.out.println(result.value());
        }
    }
}
