// The smoke test: every request of contract.json gets the answer that is expected there.
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.w3c.dom.Element;

public class ServerTest {
    public static void main(String[] args) throws Exception {
        Map<?, ?> contract = (Map<?, ?>) new Json(Files.readString(Path.of("contract.json"))).value();
        boolean failed = false;
        for (Object one : (List<?>) contract.get("cases")) {
            Map<?, ?> expected = (Map<?, ?>) one;
            boolean right = isRight(expected);
            System.out.println((right ? "ok" : "not ok") + " - " + expected.get("name"));
            failed |= !right;
        }
        System.exit(failed ? 1 : 0);
    }

    static boolean isRight(Map<?, ?> expected) throws Exception {
        byte[] body = expected.containsKey("base64")
            ? Base64.getDecoder().decode((String) expected.get("base64"))
            : ((String) expected.get("request")).getBytes(StandardCharsets.UTF_8);
        Element answer = Server.read(Server.respond(body));
        if (expected.containsKey("faults")) {
            if (Server.children(answer, "fault").isEmpty()) return false;
            Object fault = Server.value(Server.child(Server.child(answer, "fault"), "value"));
            return ((List<?>) expected.get("faults")).contains(((Map<?, ?>) fault).get("faultCode"));
        }
        if (Server.children(answer, "params").isEmpty()) return false;
        Element param = Server.child(Server.child(answer, "params"), "param");
        return matches(expected.get("result"), Server.value(Server.child(param, "value")));
    }

    static boolean matches(Object expected, Object got) {  // a struct may have more members
        if (expected instanceof Map) {
            return got instanceof Map && ((Map<?, ?>) expected).entrySet().stream()
                .allMatch(one -> matches(one.getValue(), ((Map<?, ?>) got).get(one.getKey())));
        }
        if (expected instanceof List) {
            List<?> values = (List<?>) expected;
            if (!(got instanceof List) || ((List<?>) got).size() != values.size()) return false;
            for (int i = 0; i < values.size(); i++) {
                if (!matches(values.get(i), ((List<?>) got).get(i))) return false;
            }
            return true;
        }
        if (expected instanceof Double) {
            return got instanceof Double && Math.abs((Double) expected - (Double) got) < 1e-5;
        }
        return expected.equals(got);
    }

    // A reader of JSON, which Java has none of: as much as contract.json needs.
    static class Json {
        final String text;
        int place = 0;

        Json(String text) {
            this.text = text;
        }

        char next() {
            while (Character.isWhitespace(text.charAt(place))) place++;
            return text.charAt(place);
        }

        boolean ends(char end) {  // the list or object, or after a comma goes on
            if (next() == ',') place++;
            if (next() != end) return false;
            place++;
            return true;
        }

        Object value() {
            char first = next();
            if (first == '{') {
                Map<String, Object> members = new LinkedHashMap<>();
                for (place++; !ends('}'); ) {
                    String name = (String) value();
                    next();
                    place++;  // the colon
                    members.put(name, value());
                }
                return members;
            }
            if (first == '[') {
                List<Object> values = new ArrayList<>();
                for (place++; !ends(']'); ) values.add(value());
                return values;
            }
            if (first == '"') return string();
            int start = place;
            while ("+-.0123456789eE".indexOf(text.charAt(place)) >= 0) place++;
            return Double.valueOf(text.substring(start, place));
        }

        String string() {
            StringBuilder found = new StringBuilder();
            for (place++; text.charAt(place) != '"'; place++) {
                char letter = text.charAt(place);
                if (letter != '\\') {
                    found.append(letter);
                    continue;
                }
                letter = text.charAt(++place);
                if (letter == 'u') {
                    found.append((char) Integer.parseInt(text.substring(place + 1, place + 5), 16));
                    place += 4;
                } else {
                    int known = "nrt".indexOf(letter);
                    found.append(known < 0 ? letter : "\n\r\t".charAt(known));
                }
            }
            place++;
            return found.toString();
        }
    }
}
