import ai.vespa.rankingexpression.importer.ModelImporter;
import ai.vespa.rankingexpression.importer.lightgbm.LightGBMImporter;
import ai.vespa.rankingexpression.importer.xgboost.XGBoostImporter;
import com.yahoo.searchlib.rankingexpression.RankingExpression;
import com.yahoo.searchlib.rankingexpression.evaluation.DoubleValue;
import com.yahoo.searchlib.rankingexpression.evaluation.MapContext;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Prints the score of each row of a file of features, and an empty line after each model: FORMAT MODEL FEATURES ...
 *
 * <p>FORMAT is lightgbm or xgboost (the JSON that Vespa imports) or profile (a rank profile with functions). FEATURES has
 * a line of names and a line of values for each document, separated by tabs.
 */
public class VespaScores {
    private static final Pattern FUNCTION = Pattern.compile("function (\\w+)\\(\\) \\{\\n\\s*expression: (.*)");
    private static final Pattern SCORE = Pattern.compile("second-phase \\{\\s*expression: (.*)");

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < arguments.length; i += 3) {
            score(read(arguments[i], Path.of(arguments[i + 1])), Path.of(arguments[i + 2]));
            System.out.println();
        }
    }

    private static void score(Map<String, RankingExpression> expressions, Path features) throws Exception {
        List<String> lines = Files.readAllLines(features);
        String[] names = lines.get(0).split("\t");
        for (String line : lines.subList(1, lines.size())) {
            String[] values = line.split("\t");
            MapContext context = new MapContext();
            for (int i = 0; i < names.length; i++) {
                context.put(names[i], new DoubleValue(Double.parseDouble(values[i])));
            }
            double score = Double.NaN;
            for (Map.Entry<String, RankingExpression> entry : expressions.entrySet()) {
                score = entry.getValue().evaluate(context).asDouble();
                context.put(entry.getKey(), new DoubleValue(score));
            }
            System.out.println(score);
        }
    }

    private static Map<String, RankingExpression> read(String format, Path file) throws Exception {
        Map<String, RankingExpression> result = new LinkedHashMap<>();
        if (!format.equals("profile")) {
            ModelImporter importer = format.equals("lightgbm") ? new LightGBMImporter() : new XGBoostImporter();
            result.putAll(importer.importModel("model", file.toString()).expressions());
            return result;
        }
        String profile = Files.readString(file);
        for (Matcher match = FUNCTION.matcher(profile); match.find(); ) {
            result.put(match.group(1), new RankingExpression(match.group(2)));
        }
        Matcher match = SCORE.matcher(profile);
        if (!match.find()) {
            throw new IllegalArgumentException("the profile has no second phase");
        }
        result.put("the score", new RankingExpression(match.group(1)));
        return result;
    }
}
