#include "muster/comm/driver/ucx/credentials.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace muster::comm {
namespace {

UcxCredentials of(const std::string& secret, const std::string& group = "g") {
  return *UcxCredentials::from(Security{.secret = secret, .insecure = false}, group);
}

UcxPassage passage() {
  return {.source = 1, .destination = 2, .way = 3, .nonce = UcxCredentials::fresh_nonce()};
}

TEST(UcxCredentials, AreTheSameForTheSameSecretAndGroup) {
  const UcxPassage p = passage();
  const UcxNonce n = UcxCredentials::fresh_nonce();
  EXPECT_EQ(of("s").challenge_mac(p), of("s").challenge_mac(p));
  EXPECT_EQ(of("s").answer_mac(p, n), of("s").answer_mac(p, n));
  EXPECT_EQ(of("s").token(p, n), of("s").token(p, n));
}

TEST(UcxCredentials, DifferWhenAnythingDiffers) {
  const UcxPassage p = passage();
  const UcxNonce n = UcxCredentials::fresh_nonce();
  const auto text = [](const auto& mac) {
    return std::string(as_text(std::as_bytes(std::span(mac))));
  };
  std::set<std::string> macs{text(of("s").challenge_mac(p)),
                             text(of("t").challenge_mac(p)),
                             text(of("s", "h").challenge_mac(p)),
                             text(of("s").answer_mac(p, n)),
                             text(of("s").answer_mac(p, UcxCredentials::fresh_nonce())),
                             text(of("s").token(p, n)),
                             text(of("s").token(p, UcxCredentials::fresh_nonce()))};
  for (int field = 0; field < 4; ++field) {
    UcxPassage other = p;
    if (field == 0) other.source = 9;
    if (field == 1) other.destination = 9;
    if (field == 2) other.way = 9;
    if (field == 3) other.nonce = UcxCredentials::fresh_nonce();
    macs.insert(text(of("s").challenge_mac(other)));
  }
  EXPECT_EQ(macs.size(), 11u);
}

TEST(UcxCredentials, SealAddressesForAllGroupsOfOneSecret) {
  const std::string sealed = of("s", "g").seal(as_bytes("here"));
  EXPECT_EQ(of("s", "h").unseal(sealed), "here");
  EXPECT_FALSE(of("t").unseal(sealed).has_value());
  EXPECT_FALSE(of("s").unseal(sealed + "!").has_value());
  EXPECT_FALSE(of("s").unseal(sealed.substr(1)).has_value());
  EXPECT_FALSE(of("s").unseal("").has_value());
}

TEST(UcxCredentials, ComeFromTheUserWithoutASecret) {
  const UcxPassage p = passage();
  const auto user = UcxCredentials::from({}, "g");
  ASSERT_TRUE(user.has_value()) << user.error().message();
  const auto anybody = UcxCredentials::from(Security{.secret = {}, .insecure = true}, "g");
  EXPECT_NE(user->challenge_mac(p), anybody->challenge_mac(p));
}

}  // namespace
}  // namespace muster::comm
