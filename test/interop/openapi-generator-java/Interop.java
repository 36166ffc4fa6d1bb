import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.ApiResponse;
import org.openapitools.client.api.ApplicationsApi;
import org.openapitools.client.api.EventsApi;
import org.openapitools.client.api.UsersApi;
import org.openapitools.client.model.AddressInput;
import org.openapitools.client.model.AddressType;
import org.openapitools.client.model.EnrolledUser;
import org.openapitools.client.model.Enrollment;
import org.openapitools.client.model.Registered;
import org.openapitools.client.model.Registration;
import org.openapitools.client.model.Trigger;
import org.openapitools.client.model.TriggerAnswer;
import org.openapitools.client.model.TriggerOptions;
import org.openapitools.client.model.User;
import org.openapitools.client.model.UserPatch;

/** Calls the service with a client by openapi-generator. */
public class Interop {
  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.setBasePath(System.getenv("TOCSIN_URL"));
    client.setApiKeyPrefix("Key");
    client.setApiKey(System.getenv("TOCSIN_KEY"));
    UsersApi users = new UsersApi(client);
    String email = "java@example.org";

    EnrolledUser made = users.enrollUser("acme", new Enrollment().email(email).customFields(Collections.singletonMap("plan", "pro")), null);
    check(made.getCreated() && made.getCustomFields().get("plan").equals("pro"), made);
    User changed = users.updateUser("acme", email, new UserPatch().customFields(Collections.singletonMap("plan", "free")), null);
    check(changed.getCustomFields().get("plan").equals("free"), changed);

    Registered registered = new ApplicationsApi(client).register("acme", "shop", "web", new Registration().username(email).distributionList("customers")
        .addresses(Arrays.asList(new AddressInput().value(email).assignToPreferredChannel(true), new AddressInput().value("+4915112345678"))), null);
    check(registered.getAddresses().get(1).getType() == AddressType.PHONE_NUMBER, registered);
    check(registered.getDistributionList().getRecipientsAdded() == 1, registered);

    Map<String, Object> data = new HashMap<>();
    data.put("title", "Hello");
    data.put("body", "World");
    ApiResponse<TriggerAnswer> triggered = new EventsApi(client).triggerEventWithHttpInfo("acme", "shop", "web", "newsletter",
        new Trigger().context(data).options(new TriggerOptions().limitTo(Arrays.asList(email))), "java", null);
    check(triggered.getStatusCode() == 201 && triggered.getData().getTriggered().getOccurrence() > 0, triggered.getData());

    check(users.listUsers("acme", 1, null, null, null, null, null, null, null, null, true, null, null).size() == 1, null);
    try {
      users.enrollUser("acme", new Enrollment().email("nobody"), null);
      check(false, "not refused");
    } catch (ApiException e) {
      check(e.getCode() == 400 && e.getResponseBody().contains("\"email\""), e);
    }
  }

  static void check(boolean ok, Object got) {
    if (!ok) {
      throw new AssertionError(got);
    }
  }
}
