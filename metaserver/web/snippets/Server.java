// An annotation server without a library. Replace the body of annotate with your method.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;

public class Server {
    static Map<String, Object> annotate(String text) {  // the first line of text is the title
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("interaction", List.of(text.toLowerCase().contains("interact"), 0.6));
        if (text.contains("p53")) {
            answer.put("normalizations",
                List.of(Map.of("dbid", "P04637", "rank", 1, "confidence", 0.9)));
            if (text.contains("MDM2")) {
                answer.put("pairs", List.of(
                    Map.of("dbid_a", "P04637", "dbid_b", "Q00987", "rank", 1, "confidence", 0.8)));
            }
        }
        return answer;
    }

    public static void main(String[] args) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress("0.0.0.0", 8100), 0);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/", Server::handle);
        server.start();
    }

    static void handle(HttpExchange exchange) throws IOException {
        String reply;
        try {
            reply = called(exchange);
        } catch (Exception failure) {
            reply = fault(1, String.valueOf(failure));
        }
        byte[] body = ("<?xml version=\"1.0\" encoding=\"utf-8\"?><methodResponse>" + reply
            + "</methodResponse>").getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "text/xml; charset=utf-8");
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    static String called(HttpExchange exchange) throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
        Node call = factory.newDocumentBuilder().parse(exchange.getRequestBody())
            .getDocumentElement();
        String method = child(call, "methodName").getTextContent();
        if (!method.equals("Annotator.getAnnotation")) {
            return fault(-32601, "there is no method " + method);
        }
        Node param = child(child(call, "params"), "param");
        String text = child(param, "value").getTextContent();
        return "<params><param>" + value(annotate(text)) + "</param></params>";
    }

    static Node child(Node parent, String name) {
        NodeList children = parent.getChildNodes();
        for (int i = 0; i < children.getLength(); i++) {
            if (children.item(i).getNodeName().equals(name)) return children.item(i);
        }
        throw new IllegalArgumentException("<" + name + "> is missing");
    }

    static String fault(int code, String text) {
        return "<fault>" + value(Map.of("faultCode", code, "faultString", text)) + "</fault>";
    }

    static String value(Object given) {
        StringBuilder xml = new StringBuilder("<value>");
        if (given instanceof Map) {
            xml.append("<struct>");
            ((Map<?, ?>) given).forEach((name, inner) -> xml.append("<member><name>")
                .append(escaped(name)).append("</name>").append(value(inner)).append("</member>"));
            xml.append("</struct>");
        } else if (given instanceof List) {
            xml.append("<array><data>");
            ((List<?>) given).forEach(inner -> xml.append(value(inner)));
            xml.append("</data></array>");
        } else if (given instanceof Boolean) {
            xml.append("<boolean>").append((Boolean) given ? 1 : 0).append("</boolean>");
        } else if (given instanceof Integer) {
            xml.append("<int>").append(given).append("</int>");
        } else if (given instanceof Double) {
            xml.append("<double>").append(given).append("</double>");
        } else {
            xml.append("<string>").append(escaped(given)).append("</string>");
        }
        return xml.append("</value>").toString();
    }

    static String escaped(Object text) {
        return text.toString().replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }
}
