// An annotation server without a library. Replace the body of annotate with your method.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.xml.sax.SAXException;
import org.xml.sax.helpers.DefaultHandler;

public class Server {
    static final int MAX_BYTES = 16 << 20;  // of a request
    static final int MAX_TAGS = 1000;  // a hub's request has about 40
    static final int WORKERS = Runtime.getRuntime().availableProcessors();  // articles at once
    static final Map<String, String> NAMES = Map.of(
        "MDM2", "Q00987", "p53", "P04637", "TP53", "P04637", "BRCA1", "P38398", "EGFR", "P00533");
    static final Pattern WORD = Pattern.compile("[A-Za-z0-9]+");
    static final Pattern OTHER_ENCODING = Pattern.compile(
        "\\ufeff?\\s*<\\?xml[^>]*encoding\\s*=\\s*[\"'](?!utf-8[\"'])", Pattern.CASE_INSENSITIVE);

    // The first line of text is the title; context is empty for a server registered with text only.
    static Map<String, Object> annotate(String text, Map<?, ?> context) {
        Map<String, Integer> counts = new TreeMap<>();
        WORD.matcher(text).results().map(MatchResult::group).filter(NAMES::containsKey)
            .forEach(word -> counts.merge(NAMES.get(word), 1, Integer::sum));
        List<Map<String, Object>> hits = new ArrayList<>();
        counts.entrySet().stream()
            .sorted(Map.Entry.comparingByValue(Comparator.reverseOrder()))  // keeps equal ones
            .forEach(found -> hits.add(Map.of(
                "dbid", found.getKey(), "rank", hits.size() + 1,
                "confidence", found.getValue() / (found.getValue() + 1.0))));
        return Map.of("normalizations", hits);
    }

    static class Fault extends Exception {
        final int code;

        Fault(int code, String message) {
            super(message);
            this.code = code;
        }
    }

    // From the bytes of a methodCall to those of a methodResponse.
    static byte[] respond(byte[] body) {
        String result;
        try {
            result = "<params><param>" + written(called(body)) + "</param></params>";
        } catch (Fault fault) {
            result = fault(fault.code, fault.getMessage());
        } catch (Exception | StackOverflowError error) {
            error.printStackTrace();
            result = fault(-32603, "annotate failed; see the log of this server");
        }
        String answer = "<?xml version=\"1.0\" encoding=\"utf-8\"?>"
            + "<methodResponse>" + result + "</methodResponse>";
        return answer.getBytes(StandardCharsets.UTF_8);
    }

    static String fault(int code, String message) {
        return "<fault>" + written(Map.of("faultCode", code, "faultString", message)) + "</fault>";
    }

    static Object called(byte[] body) throws Fault, ParserConfigurationException, IOException {
        Element call = read(body);
        if (!call.getTagName().equals("methodCall")) {
            throw new Fault(-32600, "expected a methodCall");
        }
        List<Object> params = new ArrayList<>();
        for (Element list : children(call, "params")) {
            for (Element param : children(list, "param")) params.add(value(child(param, "value")));
        }
        switch (child(call, "methodName").getTextContent().trim()) {
            case "Annotator.getAnnotation":
                boolean right = params.size() == 1
                    || params.size() == 2 && params.get(1) instanceof Map;
                if (!right || !(params.get(0) instanceof String)) {
                    throw new Fault(-32602, "expected (string) or (string, struct)");
                }
                Map<?, ?> context = params.size() == 2 ? (Map<?, ?>) params.get(1) : Map.of();
                return annotate((String) params.get(0), context);
            case "Annotator.getState":
                return Map.of("state", "Running", "version", "1", "max_concurrent", WORKERS);
            case "system.listMethods":
                return List.of(
                    "Annotator.getAnnotation", "Annotator.getState", "system.listMethods");
            default:
                throw new Fault(-32601, "no such method; see system.listMethods");
        }
    }

    static Element read(byte[] body) throws Fault, ParserConfigurationException, IOException {
        CharBuffer text;
        try {
            text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body));
        } catch (CharacterCodingException error) {
            throw new Fault(-32700, "not UTF-8");
        }
        if (OTHER_ENCODING.matcher(text).lookingAt()) {
            throw new Fault(-32700, "another encoding than UTF-8 is declared");
        }
        int tags = 0;
        for (byte one : body) if (one == 0) throw new Fault(-32700, "not UTF-8: a NUL");
        for (byte one : body) tags += one == '<' ? 1 : 0;
        if (tags > MAX_TAGS) throw new Fault(-32700, "more than " + MAX_TAGS + " tags");
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
        factory.setCoalescing(true);
        DocumentBuilder builder = factory.newDocumentBuilder();
        builder.setErrorHandler(new DefaultHandler());  // or it prints what it throws
        try {
            return builder.parse(new ByteArrayInputStream(body)).getDocumentElement();
        } catch (SAXException | IOException error) {
            throw new Fault(-32700, "not XML-RPC");
        }
    }

    static List<Element> children(Node parent, String name) {  // of any name, if it is empty
        List<Element> found = new ArrayList<>();
        for (Node node = parent.getFirstChild(); node != null; node = node.getNextSibling()) {
            if (node instanceof Element && (name.isEmpty() || node.getNodeName().equals(name))) {
                found.add((Element) node);
            }
        }
        return found;
    }

    static Element child(Node parent, String name) throws Fault {
        List<Element> found = children(parent, name);
        if (found.isEmpty()) throw new Fault(-32700, "not XML-RPC: no <" + name + ">");
        return found.get(0);
    }

    static Object value(Element given) throws Fault {
        if (children(given, "").isEmpty()) return given.getTextContent();
        Element typed = child(given, "");
        String text = typed.getTextContent();
        switch (typed.getTagName()) {
            case "string":
                return text;
            case "boolean":
                return text.trim().equals("1");
            case "int": case "i4": case "i8": case "double":
                try {
                    return Double.valueOf(text.trim());
                } catch (NumberFormatException error) {
                    throw new Fault(-32700, "not a number");
                }
            case "array":
                List<Object> items = new ArrayList<>();
                for (Element item : children(child(typed, "data"), "value")) items.add(value(item));
                return items;
            case "struct":
                Map<String, Object> members = new LinkedHashMap<>();
                for (Element member : children(typed, "member")) {
                    String name = child(member, "name").getTextContent();
                    members.put(name, value(child(member, "value")));
                }
                return members;
            default:
                throw new Fault(-32700, "not a type of XML-RPC: " + typed.getTagName());
        }
    }

    static String written(Object given) {
        StringBuilder xml = new StringBuilder("<value>");
        if (given instanceof Map) {
            xml.append("<struct>");
            ((Map<?, ?>) given).forEach((name, inner) -> xml.append("<member><name>")
                .append(escaped(name)).append("</name>").append(written(inner)).append("</member>"));
            xml.append("</struct>");
        } else if (given instanceof List) {
            xml.append("<array><data>");
            ((List<?>) given).forEach(inner -> xml.append(written(inner)));
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

    static String escaped(Object text) {  // XML has no place for most control characters
        return text.toString().replaceAll("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\ufffe\\uffff]", "\ufffd")
            .replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }

    static void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            if (!exchange.getRequestMethod().equals("POST")) {
                exchange.sendResponseHeaders(405, -1);
                return;
            }
            String declared = exchange.getRequestHeaders().getFirst("Content-Length");
            boolean large = declared != null && Long.parseLong(declared) > MAX_BYTES;
            byte[] body = exchange.getRequestBody().readNBytes(large ? 0 : MAX_BYTES + 1);
            if (large || body.length > MAX_BYTES) {
                exchange.getResponseHeaders().set("Connection", "close");
                exchange.sendResponseHeaders(413, -1);
                return;
            }
            byte[] answer = respond(body);
            exchange.getResponseHeaders().set("Content-Type", "text/xml; charset=utf-8");
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
        }
    }

    public static void main(String[] args) throws IOException {
        System.setProperty("sun.net.httpserver.nodelay", "true");
        System.setProperty("sun.net.httpserver.maxReqTime", "60");  // seconds
        String host = System.getenv().getOrDefault("HOST", "127.0.0.1");
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8100"));
        HttpServer server = HttpServer.create(new InetSocketAddress(host, port), 64);
        ExecutorService workers = Executors.newFixedThreadPool(WORKERS);
        server.setExecutor(workers);
        server.createContext("/", Server::handle);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> server.stop(3)));
        server.start();
        System.out.println("listening on http://" + host + ":" + port + "/");
    }
}
