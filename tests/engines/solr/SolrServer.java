import java.nio.file.Path;
import org.apache.solr.client.solrj.embedded.JettyConfig;
import org.apache.solr.client.solrj.embedded.JettySolrRunner;

/** Runs Solr with the home folder that is the only argument, prints its address, and ends when standard input ends. */
public class SolrServer {
    public static void main(String[] arguments) throws Exception {
        JettyConfig config = JettyConfig.builder().setContext("/solr").setPort(0).build();
        JettySolrRunner server = new JettySolrRunner(Path.of(arguments[0]).toString(), config);
        server.start();
        System.out.println("listening on " + server.getBaseUrl());
        System.out.flush();
        while (System.in.read() >= 0) {
        }
        System.exit(0);
    }
}
