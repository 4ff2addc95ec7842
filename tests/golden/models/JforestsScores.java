// Scores of jforests' trees by their original thresholds, which is how it scores values that it has not packed itself.
import edu.uci.jforests.learning.trees.Ensemble;
import edu.uci.jforests.learning.trees.regression.RegressionTree;
import java.io.BufferedReader;
import java.io.File;
import java.io.FileReader;

public class JforestsScores {
    public static void main(String[] given) throws Exception {
        Ensemble ensemble = new Ensemble();
        ensemble.loadFromFile(RegressionTree.class, new File(given[0]));
        BufferedReader lines = new BufferedReader(new FileReader(given[1]));
        for (String line; (line = lines.readLine()) != null;) {
            double[] values = new double[Integer.parseInt(given[2])];
            String[] words = line.split(" ");
            for (int i = 2; i < words.length; i++) {
                String[] pair = words[i].split(":");
                values[Integer.parseInt(pair[0]) - 1] = Double.parseDouble(pair[1]);
            }
            double score = 0;
            for (int t = 0; t < ensemble.getNumTrees(); t++) {
                RegressionTree tree = (RegressionTree) ensemble.getTreeAt(t);
                score += tree.getLeafOutput(tree.getLeafFromOriginalThreshold(values)) * ensemble.getWeightAt(t);
            }
            System.out.println(score);
        }
    }
}
