"""deploy/photos.yaml: the bucket and the permissions that the server needs."""

from tests.deploy.template import load, resources


def test_the_bucket_deletes_uploads_and_publishes_only_photos() -> None:
    made = load("deploy/photos.yaml")["Resources"]
    (rule,) = made["Bucket"]["Properties"]["LifecycleConfiguration"]["Rules"]
    assert (rule["Prefix"], rule["ExpirationInDays"]) == ("uploads/", 1)
    reads, plain = made["Readers"]["Properties"]["PolicyDocument"]["Statement"]
    assert (reads["Action"], reads["Resource"]) == (
        "s3:GetObject",
        {"Sub": "${Bucket.Arn}/photos/*"},
    )
    assert plain["Effect"] == "Deny"
    (cors,) = made["Bucket"]["Properties"]["CorsConfiguration"]["CorsRules"]
    assert cors["AllowedMethods"] == ["POST"]


def test_servers_have_only_the_rights_for_uploads() -> None:
    policy = load("deploy/photos.yaml")["Resources"]["Policy"]["Properties"]["PolicyDocument"]
    rights = {one["Resource"]["Sub"]: one["Action"] for one in policy["Statement"]}
    assert rights == {
        "${Bucket.Arn}/uploads/*": ["s3:GetObject", "s3:PutObject"],
        "${Bucket.Arn}/photos/*": "s3:PutObject",
    }
    added = resources()["ServerRole"]["Properties"]["ManagedPolicyArns"][1]
    assert added["If"][:2] == ["HasUploads", {"Ref": "UploadPolicyArn"}]
